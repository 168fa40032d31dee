import type { Addresses } from "../../config/addresses.ts";
import type { Config } from "../../config/config.ts";
import type { SeenData } from "../../store/seen-data.ts";
import type { Secrets } from "../../keys/secrets.ts";
import type { PlatformClient } from "../../links/platform-client.ts";
import type { Store } from "../../store/store.ts";
import type { Offer } from "../../offer/offer.ts";
import type { Upstream } from "../../operation/upstream.ts";
import type { VendorListing } from "../../operation/vendor-listing.ts";
import type { Clock } from "../../platform/clock.ts";

/** What the command line needs from the program. Nothing is opened or read before a command asks for it. */
export interface CliParts {
  /** The data that is there; throws an error that says where there is none. */
  readonly openStore: () => Promise<Store>;
  /** Whether there is any data where commands look for it. */
  readonly hasData: () => Promise<boolean>;
  /** The same, but begins the data of a new installation where there is none. */
  readonly openOrBeginStore: () => Promise<Store>;
  /** The secrets of the store that was opened. */
  readonly secrets: () => Promise<Secrets>;
  readonly clock: Clock;
  /** A UUIDv7. */
  readonly newId: () => string;
  readonly platformClient: PlatformClient;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly print: (line: string) => void;
  readonly printError: (line: string) => void;
  readonly backUp: (file: string) => Promise<void>;
  /** Adds a dated backup to a folder, and keeps the newest `keep` of them. */
  readonly backUpInto: (
    folder: string,
    keep: number,
  ) => Promise<{ readonly file: string; readonly deleted: readonly string[] }>;
  /**
   * Tells where the data that was there before is kept. Throws an error that says in a plain sentence why it cannot: a
   * server holds the lock, or the file is bad, or another installation's, or the data was moved elsewhere (`overMoved`
   * restores over that, too).
   */
  readonly restore: (file: string, options: { readonly overMoved: boolean }) => Promise<string | undefined>;
  /** Moves a file's books to the configured database; the data folder's file when none is named. */
  readonly moveBooks: (
    file: string | undefined,
    onProgress: (rows: number) => void,
  ) => Promise<{
    readonly from: string;
    readonly to: string;
    /** By table; undefined when all had arrived before, and only the end of the move was missing. */
    readonly rows: Readonly<Record<string, number>> | undefined;
  }>;
  /** Opens a file again whose move broke off; tells its name. */
  readonly undoMove: (file: string | undefined) => Promise<string>;
  /** Greets when it is open, with words for people and facts for programs; resolves with the exit code. */
  readonly serve: (flags: ServeFlags, greet: (words: string, facts: object) => void) => Promise<number>;
  /** May throw ConfigError. */
  readonly loadOffer: () => Promise<{ readonly config: Config; readonly offer: Offer }>;
  /** The file that the configuration is read from; where it is not there, the built-in one is in force. */
  readonly findConfigFile: () => { readonly path: string; readonly isThere: boolean };
  /** What of the environment is allowed, and may not be what was meant. */
  readonly notesOnSettings: readonly string[];
  /** Throws why a server with these settings would refuse to start, whatever its data. */
  readonly checkStart: (config: Config, flags: ServeFlags) => void;
  /** Where the data is, for people, without a password. */
  readonly dataName: string;
  /** Looks at the data and changes nothing; undefined while there is none. Throws why it cannot be used. */
  readonly lookAtData: () => Promise<SeenData | undefined>;
  /** Throws where whoever began to serve would find the disk too full for new calls. */
  readonly checkRoom: () => void;
  /** In words that name the data and say what to do, where an error is about what became of it; any other as it is. */
  readonly explain: (error: unknown) => unknown;
  /** The fingerprint of the installation's secret; undefined while it has none. None is made. */
  readonly findFingerprint: () => string | undefined;
  /** Where the installation's secret stands, for people. */
  readonly secretPlace: () => string;
  /** Where limits are counted, for people; throws why they cannot be counted there. */
  readonly lookAtLimits: () => Promise<string>;
  /** The addresses under which a server with these settings would be known. */
  readonly addresses: () => Addresses;
  /** "reachable", or why not. */
  readonly probe: (url: string) => Promise<string>;
  /** Asks a vendor for its models, free of charge and within some seconds. */
  readonly askListing: (upstream: Upstream) => Promise<VendorListing>;
  /** The version of this program. */
  readonly version: () => string;
  /** Whose calls the caller's commands make, and where. */
  readonly caller: () => CallerSettings;
  /** Text without an end of line, for answers that come piece by piece. False once nobody takes it. */
  readonly write: (text: string) => boolean;
  /** Shows how far something is, in the place of what was shown before; nothing clears it. */
  readonly showProgress: (line: string | undefined) => void;
}

interface CallerSettings {
  /** From the environment and nowhere else: an argument would stay in the shell's history and the list of processes. */
  readonly apiKey: string | undefined;
  readonly baseUrl: string;
}

export interface ServeFlags {
  readonly allowSandboxPublic: boolean;
}
