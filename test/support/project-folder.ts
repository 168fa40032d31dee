import { join } from "node:path";

export const projectFolder = join(import.meta.dir, "../..");
export const catalogueFolder = join(projectFolder, "catalogue");
