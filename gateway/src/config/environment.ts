import { existsSync, statSync } from "node:fs";
import { isIP } from "node:net";
import { join } from "node:path";
import { isLogLevel } from "../platform/log.ts";
import { addressOf } from "./addresses.ts";
import type { ConfigFile } from "./config-file.ts";
import { unsendable } from "./upstream-request.ts";
import { readVariable, type Environment } from "./variable.ts";

/** What is set outside the configuration file, because it belongs to the machine and not to the offer. */
export interface Settings {
  readonly host: string;
  readonly port: number;
  readonly baseUrl: string | undefined;
  readonly siteUrl: string | undefined;
  readonly mcpUrl: string | undefined;
  readonly dataFolder: string;
  readonly configFile: ConfigFile;
  readonly store: StoreSetting;
  readonly limits: LimitsSetting;
  readonly secret: string | undefined;
  readonly operatorToken: string | undefined;
  /** How long a gateway told to stop goes on serving, while it says at /readyz that it will. */
  readonly stopDelayMs: number;
  readonly logLevel: "debug" | "info" | "warn" | "error" | "silent";
}

/** Where everything durable is: in a file for one server, or in a Postgres for several nodes together. */
type StoreSetting =
  | { readonly kind: "sqlite"; readonly path: string }
  | ({ readonly kind: "postgres" } & Server);

/** Where limits are counted: in this process alone, or in a Redis for several nodes together. */
type LimitsSetting = { readonly kind: "memory" } | ({ readonly kind: "redis" } & Server);

interface Server {
  readonly url: string;
  /** What no log may show of it. */
  readonly secrets: readonly string[];
}

const portUsual = 8787;
const stopDelayMaxSeconds = 600;

/** Reads the environment; throws a plain sentence about the first thing in it that cannot be used. */
export function readSettings(given: Environment, folder: string): Settings {
  const environment = withoutEmpty(given);
  const readSecret = (name: string): string | undefined => readVariable(environment, name);
  const dataFolder = readDataFolder(environment["TOLLGATE_DATA"], folder);
  const logLevel = environment["TOLLGATE_LOG"] ?? "info";
  if (!isLogLevel(logLevel)) throw new Error("TOLLGATE_LOG must be debug, info, warn, error or silent.");
  return {
    host: readHost(environment),
    port: readPort(environment["PORT"]),
    baseUrl: readOrigin(environment, "TOLLGATE_BASE_URL"),
    siteUrl: readAddress(environment, "TOLLGATE_SITE_URL"),
    mcpUrl: readAddress(environment, "TOLLGATE_MCP_URL"),
    dataFolder,
    configFile: placeOfConfig(environment["TOLLGATE_CONFIG"], folder),
    store: readStore(readSecret("TOLLGATE_STORE"), dataFolder),
    limits: readLimits(readSecret("TOLLGATE_LIMITS")),
    secret: readSecret("TOLLGATE_SECRET"),
    operatorToken: readToken(readSecret("TOLLGATE_OPERATOR_TOKEN")),
    stopDelayMs: readStopDelay(environment["TOLLGATE_STOP_DELAY_SECONDS"]),
    logLevel,
  };
}

/** A variable that is there and empty is not set: files for containers write `${NAME:-}` for what nobody gave. */
const withoutEmpty = (environment: Environment): Environment =>
  Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ""));

/** Every path begins at the root here, so an address that others put before them all can have none. */
function readOrigin(environment: Environment, name: string): string | undefined {
  const address = readHttpAddress(environment, name);
  if (address !== undefined && !/^\w+:\/\/[^/?#]+$/.test(address)) {
    throw new Error(
      `${name} must be an address without a path, such as https://api.example.com: everything here is served from ` +
        "the root of its host.",
    );
  }
  return address;
}

/** An address under which the world knows a part of us. */
function readAddress(environment: Environment, name: string): string | undefined {
  const address = readHttpAddress(environment, name);
  if (address !== undefined && /[?#]/.test(address))
    throw new Error(`${name} must be an address without ? or #, because paths are appended to it.`);
  return address;
}

/** As clients write it, who compare it letter by letter; a slash at its end would double the one our paths begin with. */
function readHttpAddress(environment: Environment, name: string): string | undefined {
  const written = environment[name];
  if (written === undefined) return undefined;
  if (!URL.canParse(written) || !/^https?:\/\/[^/]\S*$/i.test(written))
    throw new Error(`${name} must be an address that begins with http:// or https://, without a space.`);
  // What stands there is not repeated, and every link would show it.
  if (/^\w+:\/\/[^/?#]*@/.test(written))
    throw new Error(`${name} must be an address without a user or a password.`);
  return new URL(written).href.replace(/\/+$/, "");
}

function readHost({ HOST: written = "127.0.0.1", TOLLGATE_BASE_URL: baseUrl }: Environment): string {
  if (isIP(written) === 0 && !(isHost(written) && /^[^[\]:/?#@]*$/.test(written))) {
    throw new Error(
      "HOST must be an address or a name of this machine, such as 127.0.0.1 or ::1, without brackets or a port.",
    );
  }
  if (!isHost(written) && baseUrl === undefined) {
    throw new Error(
      "HOST has a zone, as in fe80::1%eth0, which cannot stand in a link. Set TOLLGATE_BASE_URL, too, to the address by which " +
        "others know this gateway.",
    );
  }
  return written;
}

const isHost = (written: string): boolean => URL.canParse(addressOf(written, portUsual));

function readPort(written: string | undefined): number {
  if (written === undefined) return portUsual;
  if (!/^\d{1,5}$/.test(written) || Number(written) > 65_535)
    throw new Error("PORT must be a number from 0 to 65535.");
  return Number(written);
}

/** With white space around it, or what no header can carry, nobody could ever present it. */
function readToken(written: string | undefined): string | undefined {
  if (written !== written?.trim() || /[^\P{Cc}\t]/u.test(written ?? ""))
    throw new Error(`TOLLGATE_OPERATOR_TOKEN ${unsendable}.`);
  return written;
}

function readStopDelay(written: string | undefined): number {
  if (written === undefined) return 0;
  if (!/^\d{1,3}$/.test(written) || Number(written) > stopDelayMaxSeconds)
    throw new Error(`TOLLGATE_STOP_DELAY_SECONDS must be a whole number from 0 to ${stopDelayMaxSeconds}.`);
  return Number(written) * 1000;
}

/** It is made where it is not there yet. */
function readDataFolder(written: string | undefined, folder: string): string {
  const dataFolder = written ?? join(folder, "data");
  if (existsSync(dataFolder) && !statSync(dataFolder).isDirectory())
    throw new Error(`TOLLGATE_DATA must be a folder, and ${dataFolder} is not one.`);
  return dataFolder;
}

/** A file that somebody named must be there; the usual one need not. */
const placeOfConfig = (written: string | undefined, folder: string): ConfigFile => ({
  path: written ?? join(folder, "tollgate.yaml"),
  mayBeAbsent: written === undefined,
});

/** Where the data is, unless anything else is said. */
export const usualFileIn = (dataFolder: string): string => join(dataFolder, "tollgate.db");

function readStore(written: string | undefined, dataFolder: string): StoreSetting {
  if (written === undefined) return { kind: "sqlite", path: usualFileIn(dataFolder) };
  if (written.startsWith("sqlite:")) {
    const path = written.slice("sqlite:".length).replace(/^\/\//, "");
    if (path === ":memory:")
      throw new Error("TOLLGATE_STORE must name a file: books in memory are gone when the server stops.");
    // To SQLite no path at all means a database that is gone when it is closed.
    return { kind: "sqlite", path: path === "" ? usualFileIn(dataFolder) : path };
  }
  const server = /^postgres(ql)?:\/\//.test(written) ? readServer(written) : undefined;
  if (server) return { kind: "postgres", ...server };
  // What is written may have a password in it, so it is not said again.
  throw new Error(
    `TOLLGATE_STORE must be sqlite:PATH or postgres://USER:PASSWORD@HOST:PORT/DATABASE. ${howToWritePasswords}`,
  );
}

function readLimits(written: string | undefined): LimitsSetting {
  if (written === undefined || written === "memory:") return { kind: "memory" };
  const { protocol, hostname, pathname } = URL.parse(written) ?? {};
  const isRedis = /^rediss?:$/.test(protocol ?? "") && hostname !== "" && /^(\/\d*)?$/.test(pathname ?? "");
  const server = isRedis ? readServer(written) : undefined;
  if (server) return { kind: "redis", ...server };
  throw new Error(
    "TOLLGATE_LIMITS must be memory: or redis://USER:PASSWORD@HOST:PORT/DATABASE, of which all but the host may be " +
      `left out; rediss:// is the same over TLS. ${howToWritePasswords}`,
  );
}

const howToWritePasswords = "In a password / # ? % and @ are written as %2F, %23, %3F, %25 and %40.";

/** Undefined for what is no address, or has a password that nobody can read. */
function readServer(url: string): Server | undefined {
  try {
    const { password, pathname, search, hash } = new URL(url);
    // The rest of a password that ended too early: its beginning was taken for a host, which errors name.
    if (`${pathname}${search}${hash}`.includes("@")) return undefined;
    // A server may repeat the password as it was meant, not as it had to be written.
    return { url, secrets: [url, password, decodeURIComponent(password)] };
  } catch {
    return undefined;
  }
}
