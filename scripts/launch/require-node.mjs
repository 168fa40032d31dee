// Imported first by every entry, so that an old Node answers with a sentence and not with a stack.
// What the entries import must therefore still parse on old versions: no top-level await here.

const majorMin = 20;

if (Number(process.versions.node.split(".")[0]) < majorMin) {
  console.error(`Tollgate needs Node ${majorMin} or newer; this is Node ${process.versions.node}.`);
  process.exit(1);
}
