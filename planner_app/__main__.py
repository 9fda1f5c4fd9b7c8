import sys

from planner_app.cli import main

if __name__ == "__main__":
    sys.exit(main())
