import type { Config } from "./config/config.ts";
import type { Settings } from "./config/environment.ts";
import { checkPublic } from "./config/public-sandbox.ts";
import type { Gateway } from "./gateway.ts";
import type { ReloadEnd } from "./host/reload-on-change.ts";
import type { Sandboxes } from "./host/sandboxes.ts";
import { isOfStore } from "./ledger/store-errors.ts";
import type { OfferNews } from "./offer/advice/offer-news.ts";
import type { Catalogue } from "./operation/catalogue.ts";
import { ConfigError } from "./platform/config-error.ts";
import { describeError, type Log } from "./platform/log.ts";
import type { Metrics } from "./platform/metrics.ts";

interface Parts {
  readonly gateway: Gateway;
  readonly sandboxes: Sandboxes;
  readonly readConfig: () => Config;
  readonly readCatalogue: (config: Config) => Promise<Catalogue>;
  readonly settings: Settings;
  readonly allowSandboxPublic: boolean;
  readonly offerNews: OfferNews;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** Puts a changed configuration in force, or keeps the old one and says why. */
export async function reloadOffer(parts: Parts): Promise<ReloadEnd> {
  const { gateway, sandboxes, log, metrics } = parts;
  try {
    const config = parts.readConfig();
    checkPublic(config, parts);
    const catalogue = await parts.readCatalogue(config);
    const offer = await gateway.reload(catalogue, config, await sandboxes.urlFor(config));
    const toldBefore = parts.offerNews.tell(offer);
    await gateway.publish();
    metrics.count("tollgate_config_reloads_total", { result: "ok" });
    log.info("configuration reloaded", { operations: offer.operations.size, told_before: toldBefore });
    return "over";
  } catch (error) {
    if (isOfStore(error)) {
      // Each try counts, so it has a result of its own: whoever watches for bad files would be called for none.
      metrics.count("tollgate_config_reloads_total", { result: "waiting" });
      log.error(
        "the prices of the new configuration cannot be recorded yet; the old one stays until they are",
        describeError(error),
      );
      return "again";
    }
    metrics.count("tollgate_config_reloads_total", { result: "kept_old" });
    const why = error instanceof ConfigError ? { error: error.message } : describeError(error);
    log.error("the new configuration cannot be used; the old one stays", why);
    return "over";
  }
}
