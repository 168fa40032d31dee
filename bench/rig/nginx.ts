import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { waitUntilServing } from "./wait-until-serving.ts";
import { endingWithUs, openTemporaryFolder, tied } from "./leftovers.ts";

export interface Nginx {
  readonly pid: number;
  readonly close: () => Promise<void>;
}

/** Runs nginx in the foreground with one worker, so that it has one core like everybody else. */
export async function openNginx(port: number, http: string): Promise<Nginx> {
  const folder = openTemporaryFolder("nginx");
  const file = join(folder.path, "nginx.conf");
  writeFileSync(file, configuration(folder.path, http));
  const words = [
    ...endingWithUs,
    "nginx",
    "-c",
    file,
    "-p",
    folder.path,
    "-e",
    join(folder.path, "error.log"),
  ];
  const child = tied(Bun.spawn(words, { stdout: "ignore", stderr: "inherit" }));
  await waitUntilServing(`http://127.0.0.1:${port}/`, child);
  return {
    pid: child.pid,
    close: async () => {
      child.kill("SIGTERM");
      await child.exited;
      folder.remove();
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
