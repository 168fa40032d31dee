/** What is made of something that does not change, when it is first asked for, and kept as long as that. */
export function onceFor<Source extends object, Made>(
  make: (source: Source) => Made,
): (source: Source) => Made {
  const made = new WeakMap<Source, Made>();
  return (source) => {
    if (!made.has(source)) made.set(source, make(source));
    return made.get(source) as Made;
  };
}
