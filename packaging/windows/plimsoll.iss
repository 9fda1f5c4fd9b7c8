; An installer for Windows, of the bundle that the same spec makes there. UNTESTED: written without a Windows at hand,
; and the app does not run on Windows yet: planner_app/jobs starts workers the POSIX way.
;
;   python packaging\make_icons.py
;   pyinstaller --distpath build\bundle --workpath build\pyinstaller packaging\plimsoll.spec
;   for /f %v in ('python packaging\release.py') do iscc /DVersion=%v packaging\windows\plimsoll.iss

#ifndef Version
  #error Say which version: iscc /DVersion=...
#endif

[Setup]
AppId={{7E0B54B5-6A3B-4B0E-9E55-2C6C1E0F6D11}
AppName=Plimsoll
AppVersion={#Version}
AppPublisher=The Plimsoll authors
DefaultDirName={autopf}\Plimsoll
DefaultGroupName=Plimsoll
PrivilegesRequired=lowest
PrivilegesRequiredOverridesAllowed=dialog
ArchitecturesAllowed=x64compatible
ArchitecturesInstallIn64BitMode=x64compatible
ChangesAssociations=yes
ChangesEnvironment=yes
LicenseFile=..\..\LICENSE
SetupIconFile=..\..\build\icons\plimsoll.ico
UninstallDisplayIcon={app}\plimsoll.exe
OutputDir=..\..\dist
OutputBaseFilename=plimsoll-{#Version}-setup
Compression=lzma2
SolidCompression=yes
WizardStyle=modern

[Tasks]
Name: path; Description: "Make the command plimsoll known to terminals"
Name: keras; Description: "Open .keras files with Plimsoll"

[Files]
Source: "..\..\build\bundle\plimsoll\*"; DestDir: "{app}"; Flags: recursesubdirs ignoreversion

[Icons]
Name: "{group}\Plimsoll"; Filename: "{app}\plimsoll.exe"

[Registry]
Root: HKA; Subkey: "Software\Classes\.keras\OpenWithProgids"; ValueType: string; ValueName: "Plimsoll.keras"; Flags: uninsdeletevalue; Tasks: keras
Root: HKA; Subkey: "Software\Classes\Plimsoll.keras"; ValueType: string; ValueData: "Keras model"; Flags: uninsdeletekey; Tasks: keras
Root: HKA; Subkey: "Software\Classes\Plimsoll.keras\DefaultIcon"; ValueType: string; ValueData: "{app}\plimsoll.exe,0"; Tasks: keras
Root: HKA; Subkey: "Software\Classes\Plimsoll.keras\shell\open\command"; ValueType: string; ValueData: """{app}\plimsoll.exe"" ""%1"""; Tasks: keras
Root: HKCU; Subkey: "Environment"; ValueType: expandsz; ValueName: "Path"; ValueData: "{olddata};{app}"; Check: NotOnPath; Tasks: path

[Code]
function NotOnPath: Boolean;
var
  Path: string;
begin
  if not RegQueryStringValue(HKCU, 'Environment', 'Path', Path) then
    Path := '';
  Result := Pos(';' + ExpandConstant('{app}') + ';', ';' + Path + ';') = 0;
end;
