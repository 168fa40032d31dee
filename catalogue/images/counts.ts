// Other words for `n`, the number of images.

import { DecidingNames, refuse } from "../../gateway/src/for-catalogues.ts";

/** Refuses a second word for how many images are drawn, unless it says the same as `n`. */
export function checkCounts(body: Readonly<Record<string, unknown>>, images: number): void {
  for (const name in body) {
    otherCounts.check(name);
    series.check(name);
    const value = body[name] ?? null;
    if (value === null) continue;
    const asksForSeries = series.has(name) && value !== "disabled";
    const asksForOthers = otherCounts.has(name) && value !== images;
    if (asksForSeries || asksForOthers) {
      refuse("invalid_parameters", `${name}: only n says how many images are drawn`, { field: name });
    }
  }
}

/** A vendor may heed one of these, and draw more images than the hold covers. */
const otherCounts = new DecidingNames([
  "max_images",
  "num_images",
  "num_images_per_prompt",
  "num_outputs",
  "number_of_images",
  "numberOfImages",
  "image_count",
  "sample_count",
  "sampleCount",
  "samples",
  "batch_size",
]);

/** These ask for a series of images, and the vendor chooses how many. */
const series = new DecidingNames(["sequential_image_generation", "sequential_image_generation_options"]);
