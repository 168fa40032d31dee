import { limiterConformance } from "../limits/limiter-conformance.ts";
import { createMemoryLimiter } from "./memory-limiter.ts";

limiterConformance("the limiter of one process", () => {
  let nowMs = 1_012_345;
  return {
    limiter: createMemoryLimiter(() => nowMs),
    advance: (ms) => void (nowMs += ms),
    nowMs: () => nowMs,
  };
});
