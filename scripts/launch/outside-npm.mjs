import path from "node:path";

/** The environment without what an outer npm added for its own scripts, so that an inner npm starts afresh. */
export function outsideNpm(env) {
  const kept = Object.entries(env).filter(([name]) => !addedByNpm.test(name));
  return Object.fromEntries(
    kept.map(([name, value]) => [name, name.toUpperCase() === "PATH" ? withoutNpmFolders(value) : value]),
  );
}

const addedByNpm =
  /^(npm_(package|lifecycle|config_local_prefix|config_loglevel|command|execpath|node_execpath)|INIT_CWD$|NODE$)/;

const withoutNpmFolders = (folders) =>
  folders
    .split(path.delimiter)
    .filter(
      (folder) => !folder.endsWith(path.join("node_modules", ".bin")) && !folder.includes("node-gyp-bin"),
    )
    .join(path.delimiter);
