"""What a model is trained with: its compilation, its optimizers, its data, fine-tuning."""
