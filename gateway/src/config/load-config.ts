import { dirname, resolve } from "node:path";
import { ConfigError, describeIssue, sayWhatFits } from "../platform/config-error.ts";
import { messageOf } from "../platform/error-message.ts";
import { readConfigFile, type ConfigFile } from "./config-file.ts";
import { configSchema, type Config } from "./config.ts";
import { countReadableLines, isYaml } from "./readable-lines.ts";
import { repeatedNames } from "./repeated-names.ts";
import { readVariable, type Environment } from "./variable.ts";

/** Reads the file, or the defaults when there is none. */
export function loadConfig(file: ConfigFile, environment: Environment): Config {
  const text = readConfigFile(file);
  if (text === undefined) return parseConfig("", "the built-in configuration", environment);
  const config = parseConfig(text, file.path, environment);
  // Whoever writes a folder into a file means it from there, wherever the program was started.
  const folder = dirname(file.path);
  return { ...config, catalogueFolders: config.catalogueFolders.map((written) => resolve(folder, written)) };
}

export function parseConfig(text: string, file: string, environment: Environment): Config {
  const written = readYaml(text, file);
  const problems: string[] = repeatedNames(text);
  const interpolated = interpolate(written, [], environment, problems);
  if (problems.length > 0) throw new ConfigError(file, problems);
  const parsed = configSchema.safeParse(interpolated, { error: sayWhatFits });
  if (!parsed.success) throw new ConfigError(file, parsed.error.issues.map(describeIssue));
  const config: Config = { file, ...parsed.data };
  checkReferences(config);
  return config;
}

function readYaml(text: string, file: string): unknown {
  // In UTF-16, as some editors and shells write by themselves, every other byte of plain words is zero.
  if (text.includes("\0")) throw new ConfigError(file, ["not written in UTF-8; save it as that"]);
  const written = parseYaml(text, file);
  if (leadsInCircle(written))
    throw new ConfigError(file, ["an alias (*name) stands inside of what it stands for"]);
  return written;
}

function parseYaml(text: string, file: string): unknown {
  try {
    return Bun.YAML.parse(text) ?? {};
  } catch (error) {
    throw new ConfigError(file, [
      `not valid YAML: ${messageOf(error)}${whereToLook(text)}${whatToQuote(text)}`,
    ]);
  }
}

/** Whoever looks at it member by member would come to no end, and a server that reads it again would answer nobody. */
function leadsInCircle(value: unknown, above = new Set<object>(), seen = new WeakSet<object>()): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (above.has(value)) return true;
  if (seen.has(value)) return false;
  above.add(value);
  const isCircle = Object.values(value).some((member) => leadsInCircle(member, above, seen));
  above.delete(value);
  seen.add(value);
  return isCircle;
}

function whereToLook(text: string): string {
  const readable = countReadableLines(text);
  return readable === undefined ? "" : `; look from line ${readable + 1} on`;
}

/** Between braces YAML takes those of `${NAME}` for its own; then the text is good as soon as they are gone. */
function whatToQuote(text: string): string {
  const isReadable = isYaml(text.replace(/\$\{(\w+)\}/g, "$1"));
  return isReadable ? '; between braces, what has ${NAME} in it stands in quotes, as in "${NAME}"' : "";
}

/** `${NAME}` stands for an environment variable. It is replaced after parsing, so a value cannot inject YAML. */
function interpolate(
  value: unknown,
  path: readonly string[],
  environment: Environment,
  problems: string[],
): unknown {
  if (typeof value === "string") {
    return value.replace(/\$\{([^}]*)\}?/g, (whole, name: string) => {
      if (!/^\$\{\w+\}$/.test(whole)) {
        // What stands there is not repeated: a default beside the name may be a key.
        problems.push(
          `${path.join(".")}: only \${NAME} is understood, with the name of an environment variable`,
        );
        return "";
      }
      try {
        const found = readVariable(environment, name) ?? environment[name];
        if (found === undefined)
          problems.push(`${path.join(".")}: the environment variable ${name} is not set`);
        return found ?? "";
      } catch (error) {
        problems.push(`${path.join(".")}: ${messageOf(error)}`);
        return "";
      }
    });
  }
  if (Array.isArray(value))
    return value.map((item, at) => interpolate(item, [...path, `${at}`], environment, problems));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      interpolate(member, [...path, name], environment, problems),
    ]),
  );
}

function checkReferences(config: Config): void {
  const problems: string[] = [];
  const check = (place: string, via: readonly string[] | undefined): void => {
    for (const name of via ?? []) {
      if (!config.upstreams.has(name)) problems.push(`${place}.via: there is no upstream "${name}"`);
    }
  };
  for (const [name, model] of config.models) check(`models.${name}`, model.via);
  for (const [name, operation] of config.operations) check(`operations.${name}`, operation.via);
  if (problems.length > 0) throw new ConfigError(config.file, problems);
}
