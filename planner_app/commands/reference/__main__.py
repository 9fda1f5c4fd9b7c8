import sys

from planner_app.commands.reference.man import man
from planner_app.commands.reference.values import app, read

if __name__ == "__main__":
    sys.stdout.write(man(app(), read()))
