import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { waitUntilServing } from "./free-port.ts";

export interface Nginx {
  readonly pid: number;
  readonly close: () => Promise<void>;
}

/** Runs nginx in the foreground with one worker, so that it has one core like everybody else. */
export async function openNginx(port: number, http: string): Promise<Nginx> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-nginx-"));
  const file = join(folder, "nginx.conf");
  writeFileSync(file, configuration(folder, http));
  const child = Bun.spawn(["nginx", "-c", file, "-p", folder, "-e", join(folder, "error.log")], {
    stdout: "ignore",
    stderr: "inherit",
  });
  await waitUntilServing(`http://127.0.0.1:${port}/`);
  return {
    pid: child.pid,
    close: async () => {
      child.kill("SIGTERM");
      await child.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const configuration = (folder: string, http: string): string => `
daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
events { worker_connections 8192; }
http {
  access_log off;
  keepalive_requests 1000000000;
  keepalive_timeout 600s;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  ${http}
}
`;
