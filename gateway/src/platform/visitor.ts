import { callerAddress, type IsProxy } from "./caller-address.ts";
import type { HttpRequest } from "./http-request.ts";
import type { Peer } from "./peer.ts";

/** Whoever can be told where it came from. */
export interface Located {
  readonly address: () => string | undefined;
}

/** Who sent a request, looked at through the operator's proxies. A class, because there is one for every request. */
export class Visitor implements Located {
  readonly #request: HttpRequest;
  readonly #peer: Peer;
  readonly #isProxy: IsProxy;

  constructor(request: HttpRequest, peer: Peer, isProxy: IsProxy) {
    this.#request = request;
    this.#peer = peer;
    this.#isProxy = isProxy;
  }

  /** Asked for rarely, and dear to find out. */
  address(): string | undefined {
    const forwardedFor = this.#request.headers.get("x-forwarded-for");
    return callerAddress(this.#peer.address(), forwardedFor, this.#isProxy);
  }
}
