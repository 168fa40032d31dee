import { expect, test } from "bun:test";
import { plotOf } from "./plot.ts";

test("a name may contain anything and the plot stays well-formed", () => {
  const marks = [{ name: "R&D <gateway>", median: 1, least: 1, most: 2 }];
  const limit = { value: 2, label: "2 × R&D" };
  const svg = plotOf([{ title: "this & that", unit: "µs < ms", marks, limit }]);
  expect(svg).toContain(">R&amp;D &lt;gateway&gt;</text>");
  expect(svg).toContain("limit: 2 × R&amp;D</text>");
  expect(svg).toContain("this &amp; that");
  expect(svg).toContain("µs &lt; ms");
  expect(svg).not.toMatch(/&(?!amp;|lt;|gt;)/);
});
