import { ConfigError } from "../platform/config-error.ts";
import { isAbsent, type ConfigFile } from "./config-file.ts";
import type { Config } from "./config.ts";
import { loadConfig } from "./load-config.ts";
import type { Environment } from "./variable.ts";

/**
 * Reads the file at the start and at each reload. The usual file may appear after the start. Once it was there it must be,
 * and once it set anything it must go on to: one that is about to be replaced, or was just emptied to be written, would put
 * everything back to the defaults for a moment, prices too, and the sandbox would be sold.
 */
export function createConfigReader({ path, ...file }: ConfigFile, environment: Environment): () => Config {
  let { mayBeAbsent } = file;
  let maySetNothing = true;
  return () => {
    mayBeAbsent &&= isAbsent(path);
    const config = loadConfig({ path, mayBeAbsent }, environment);
    if (config.setsNothing && !maySetNothing) throw new ConfigError(path, [emptied]);
    maySetNothing &&= config.setsNothing;
    return config;
  };
}

const emptied =
  "nothing is set in it any more; is it being written? If all defaults are meant, write sandbox: on, which is one of them";
