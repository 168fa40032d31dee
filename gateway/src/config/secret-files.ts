import { readFileSync } from "node:fs";
import { secretFileOf, type Environment } from "./variable.ts";

/**
 * The files in which the secrets stand that a configuration names as `${NAME}`, as far as it can be read; also where it cannot
 * be used, because one of them may be what it lacks.
 */
export function secretFilesOf(configFile: string, environment: Environment): string[] {
  const names = [...textOf(configFile).matchAll(/\$\{(\w+)\}/g)].map(([, name = ""]) => name);
  return [...new Set(names.flatMap((name) => secretFileOf(environment, name) ?? []))];
}

/** Whoever loads it says why it cannot be read. */
function textOf(configFile: string): string {
  try {
    return readFileSync(configFile, "utf8");
  } catch {
    return "";
  }
}
