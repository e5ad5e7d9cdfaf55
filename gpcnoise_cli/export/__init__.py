"""A trained model in a form that other programs run: NumPy arrays, ONNX or a TensorFlow SavedModel."""
