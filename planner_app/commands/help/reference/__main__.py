import sys

from planner_app.commands.help.reference.man import man
from planner_app.commands.help.reference.values import app, read

if __name__ == "__main__":
    sys.stdout.write(man(app(), read()))
