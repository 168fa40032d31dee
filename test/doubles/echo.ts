// The plainest vendor there is, for the tests of what every double can do.

import type { createKeeper } from "./exchange.ts";
import { openVendorDouble, type VendorDouble } from "./vendor-double.ts";

export const echoBody = '{"hello":"world"}';
export const plainGet = "GET /a HTTP/1.1\r\nHost: v\r\n\r\n";

/** Says `echoBody` to whoever asks, and counts how often; gives back what it is sent. */
export const createEcho =
  (keep: ReturnType<typeof createKeeper>) =>
  (counts: { worked: number } = { worked: 0 }): Promise<VendorDouble> =>
    keep(
      openVendorDouble({
        handlers: {
          "GET /a": () => {
            counts.worked += 1;
            return { status: 200, headers: { "Content-Type": "application/json" }, body: echoBody };
          },
          "POST /a": ({ body }) => ({ status: 201, body }),
        },
      }),
    );
