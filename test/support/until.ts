/** Waits until something is so; fails when it is not within some seconds. */
export async function until(isSo: () => boolean | Promise<boolean>, withinMs = 10_000): Promise<void> {
  const startedMs = performance.now();
  while (!(await isSo())) {
    if (performance.now() - startedMs > withinMs)
      throw new Error(`It did not come true within ${withinMs} ms: ${isSo.toString()}`);
    await Bun.sleep(25);
  }
}
