/** The last few of something that takes work to make. */
export interface Recent<Value> {
  readonly has: (key: string) => boolean;
  readonly get: (key: string, make: () => Value) => Value;
}

export function createRecent<Value>(max: number): Recent<Value> {
  const values = new Map<string, Value>();
  return {
    has: (key) => values.has(key),
    get: (key, make) => {
      const value = values.has(key) ? (values.get(key) as Value) : make();
      values.delete(key);
      values.set(key, value);
      const [oldest] = values.keys();
      if (values.size > max && oldest !== undefined) values.delete(oldest);
      return value;
    },
  };
}
