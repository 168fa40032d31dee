/** What a vendor said when it was asked, free of charge, for its models in the operator's name. */
export type VendorListing =
  | {
      readonly kind: "listed";
      /** By the names under which calls ask for them. */
      readonly models: ReadonlySet<string>;
      /** Whether these are all of them. */
      readonly complete: boolean;
      /** Whoever has no key gets the same list, so that it says nothing about the key. */
      readonly forAnybody: boolean;
    }
  | { readonly kind: "key_refused"; readonly status: number }
  /** It answered with something else, or not at all. */
  | { readonly kind: "unclear"; readonly why: string }
  /** Vendors of this protocol have no such list, or ask money for it. */
  | { readonly kind: "no_listing" };
