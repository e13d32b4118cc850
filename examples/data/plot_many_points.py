"""
70,000 points: an image from a few strokes
==========================================

A photograph of 214 x 320 pixels is a set of 68,480 points. With 25 strokes of a brush, some pixels
are labelled as sky, pavilion, trees or lake. What are all the other pixels?

:class:`lapwing.LapERLSClassifier` is made for this size: its time and memory are proportional to
the number of points, and not to its square. The fit takes some ten seconds.

The photograph is real (:func:`sklearn.datasets.load_sample_image`). The class of every pixel is not
known; the check below uses rectangles in which it is obvious.
"""

# %%
# Pixels as points
# ----------------
# The features of a pixel are its colour and its position. Neighbours are close pixels of similar
# colour.

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

from lapwing import LapERLSClassifier

image = load_sample_image("china.jpg")[::2, ::2]
height, width, _ = image.shape
places = np.stack(np.mgrid[:height, :width], axis=-1) / height
X = np.concatenate([image / 255, places], axis=-1).reshape(-1, 5).astype(np.float32)

classes = ["sky", "pavilion", "trees", "lake"]
strokes = [  # the pixel in the middle: row, column
    [
        (20, 40),
        (30, 250),
        (80, 270),
        (70, 20),
        (10, 130),
        (35, 150),
        (60, 190),
        (85, 215),
        (25, 88),
    ],
    [(45, 80), (62, 75), (95, 80), (115, 85), (135, 80), (150, 80), (60, 120), (130, 130)],
    [(205, 20), (195, 150), (185, 170), (195, 280), (110, 305), (100, 10)],
    [(125, 200), (140, 215)],
]
y = np.full((height, width), -1)
for k, middles in enumerate(strokes):
    for row, column in middles:
        y[row - 1 : row + 2, column - 1 : column + 2] = k
print(f"{len(X)} pixels, {np.sum(y >= 0)} with a label ({np.mean(y >= 0):.2%})")

# %%
# One fit
# -------

start = perf_counter()
model = LapERLSClassifier().fit(X, y.ravel())
seconds = perf_counter() - start
answer = model.transduction_.reshape(height, width)
print(f"fitted in {seconds:.0f} s")

# %%

colors = np.array([[86, 180, 233], [213, 94, 0], [0, 158, 115], [204, 121, 167]])
figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
axes[0].imshow(image)
for k, middles in enumerate(strokes):
    rows, columns = np.transpose(middles)
    axes[0].scatter(columns, rows, color=colors[k] / 255, edgecolor="white", label=classes[k])
axes[0].set_title("25 strokes of the brush", loc="left")
figure.legend(loc="outside lower center", ncols=4)
grey = image.mean(axis=-1, keepdims=True) / 255
axes[1].imshow((0.35 * grey * 255 + 0.65 * colors[answer]).astype(np.uint8))
axes[1].set_title("predicted classes", loc="left")
for ax in axes:
    ax.axis("off")
plt.show()

# %%
# A check
# -------
# In these rectangles of pixels without a label, the class is obvious.

rectangles = {
    "sky": (slice(0, 90), slice(190, 320)),
    "pavilion": (slice(125, 150), slice(55, 130)),
    "trees": (slice(185, 214), slice(200, 320)),
    "lake": (slice(118, 145), slice(175, 240)),
}
right = {}
for name, place in rectangles.items():
    right[name] = np.mean(answer[place] == classes.index(name))
    print(f"{name:9} {right[name]:6.1%} of {answer[place].size} pixels are right")

# %%
# For a million points and more, and for points that do not fit into memory, see the pages
# "A million points in memory" and "Larger than memory" of the guide.
