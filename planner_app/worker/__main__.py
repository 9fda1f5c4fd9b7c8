from planner_app.worker.serve import serve

if __name__ == "__main__":
    serve()
