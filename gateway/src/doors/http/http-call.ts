import { nothingKnown, type Call, type Known, type PresentedKey } from "../../call/call.ts";
import type { Conventions } from "../../offer/conventions.ts";
import type { Offer } from "../../offer/offer.ts";
import type { HttpRequest } from "../../platform/http-request.ts";
import type { Located } from "../../platform/visitor.ts";
import { forwardedHeaders } from "./forwarded-headers.ts";
import { presentedKey } from "../wire/presented-key.ts";
import type { BodyKeeper } from "../wire/body-pieces.ts";
import { letsRestPass, type BodyReader } from "../wire/read-body.ts";

interface Arrived {
  readonly id: string;
  readonly receivedAtMs: number;
  /** Undefined for what is refused before it is read. */
  readonly request: HttpRequest | undefined;
  readonly path: string;
  readonly rawQuery: string;
  readonly visitor: Located;
  readonly offer: Offer;
  readonly bodies: BodyReader;
}

const noKey: PresentedKey = { kind: "none" };
const noBytes = new Uint8Array();
const noHeaders = Object.freeze({});

/** A request as a call. A header that few calls send and not every operation heeds is looked up when it is asked for. */
export class HttpCall implements Call, BodyKeeper {
  readonly id: string;
  readonly receivedAtMs: number;
  readonly method: string;
  readonly path: string;
  readonly rawQuery: string;
  readonly presented: PresentedKey;
  readonly offer: Offer;
  readonly known: Known = nothingKnown();
  readonly #request: HttpRequest | undefined;
  readonly #visitor: Located;
  readonly #bodies: BodyReader;
  #giveBackRoom: (() => void) | undefined;
  #needsBody = true;

  constructor({ id, receivedAtMs, request, path, rawQuery, visitor, offer, bodies }: Arrived) {
    this.id = id;
    this.receivedAtMs = receivedAtMs;
    this.method = request?.method ?? "GET";
    this.path = path;
    this.rawQuery = rawQuery;
    this.offer = offer;
    this.presented = request ? presentedKey(request.headers, this) : noKey;
    this.#request = request;
    this.#visitor = visitor;
    this.#bodies = bodies;
  }

  address(): string | undefined {
    return this.#visitor.address();
  }

  /** The operation knows them without a look at the path, once it is found. */
  get conventions(): Conventions {
    return this.known.offered?.conventions ?? this.offer.conventionsOf(this.path);
  }

  get forwarded(): Readonly<Record<string, string>> {
    return this.#request ? forwardedHeaders(this.#request.headers, this.conventions) : noHeaders;
  }

  get costMode(): string | undefined {
    return this.#wish(this.offer.headers.costMode, "x-tollgate-cost-mode");
  }

  get maxPriceUsd(): string | undefined {
    return this.#wish(this.offer.headers.maxPriceUsd, "x-tollgate-max-price-usd");
  }

  get idempotencyKey(): string | undefined {
    return this.#header("idempotency-key");
  }

  get asyncMode(): string | undefined {
    return this.#header(this.offer.headers.asyncMode);
  }

  /** Told by the key of the handshake: `Upgrade` is about one connection, and proxies such as nginx keep it to themselves. */
  get wantsWebSocket(): boolean {
    return this.#header("sec-websocket-key") !== undefined;
  }

  /** Whether a page from another place made it; browsers say so with every such request. */
  get crossesOrigins(): boolean {
    return this.#header("origin") !== undefined;
  }

  /** Whether the connection can go on although not all of the body was read. */
  get letsRestPass(): boolean {
    return this.#request !== undefined && letsRestPass(this.#request.headers);
  }

  readBody(bytesMax: number): Uint8Array | Promise<Uint8Array> {
    if (!this.#request) return noBytes;
    return this.#bodies.read(this.#request, bytesMax, this.known.caller?.accountId, this);
  }

  /** A body that did not come in time may still come when its call has been refused. */
  keep(giveBack: () => void): void {
    if (this.#needsBody) this.#giveBackRoom = giveBack;
    else giveBack();
  }

  /** The call is answered. A stream has begun, and what it still needs is not its body. */
  leaveBody(): void {
    this.#needsBody = false;
    this.#giveBackRoom?.();
    this.#giveBackRoom = undefined;
  }

  /** Our own name is heeded beside the operator's: a cap or a quote under the wrong name must not become a purchase. */
  #wish(name: string, ours: string): string | undefined {
    return this.#header(name) ?? (name === ours ? undefined : this.#header(ours));
  }

  #header(name: string): string | undefined {
    return this.#request?.headers.get(name) ?? undefined;
  }
}
