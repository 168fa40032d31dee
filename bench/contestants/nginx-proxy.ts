import { anyKeys, type Contestant } from "../rig/contestant.ts";
import { findFreePort } from "../../test/support/free-port.ts";
import { openNginx } from "../rig/nginx.ts";

/** A reverse proxy that knows nothing of what passes: the limit. */
export const nginxProxy: Contestant = {
  name: "nginx proxy",
  open: async (upstream) => {
    const port = await findFreePort();
    const nginx = await openNginx(
      port,
      `
      upstream vendor { server 127.0.0.1:${upstream.port}; keepalive 1024; keepalive_requests 1000000000; }
      server {
        listen 127.0.0.1:${port} backlog=4096;
        location / {
          proxy_pass http://vendor;
          proxy_http_version 1.1;
          proxy_set_header Connection "";
          proxy_buffering off;
          client_max_body_size 33m;
        }
      }`,
    );
    return { url: `http://127.0.0.1:${port}`, pid: nginx.pid, keys: anyKeys, close: nginx.close };
  },
};
