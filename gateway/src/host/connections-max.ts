/**
 * How many callers may be connected: each is a file of the process, and so is the connection to an upstream that its call
 * may need; some are left for the books, the sandbox and whatever else is open.
 */
export const connectionsMaxUsual = (): number => Math.max(16, Math.floor((filesMax() - otherFiles) / 2));

const otherFiles = 64;

/** Where the system does not say, there is no limit that we could keep. */
function filesMax(): number {
  const { userLimits } = process.report.getReport() as Report;
  const most = userLimits?.open_files?.soft;
  return typeof most === "number" ? most : Number.POSITIVE_INFINITY;
}

/** What is looked at in the report. */
interface Report {
  readonly userLimits?: { readonly open_files?: { readonly soft?: number | "unlimited" } };
}
