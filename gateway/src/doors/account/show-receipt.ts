import { sees } from "../../keys/seen-by.ts";
import { accountResponse } from "../people/account-layout.ts";
import { keyNames } from "./key-names.ts";
import type { Reader } from "./reader.ts";
import { noReceiptPage, receiptPage } from "./receipt-page.ts";

/** A call that the reader may not see looks like none: another account's, or another key's where a key sees only its own. */
export async function showReceipt(reader: Reader, requestId: string): Promise<Response> {
  const { asker, selfService, account } = reader;
  const receipt = await selfService.receipt(asker, requestId);
  if (!receipt || !sees(asker, { accountId: asker.accountId, keyId: receipt.key_id }))
    return accountResponse(noReceiptPage, reader, 404);
  const nameOf = await keyNames(reader, [receipt.key_id]);
  const payer = { accountName: account.name, keyName: nameOf(receipt.key_id) };
  return accountResponse(receiptPage(receipt, payer), reader);
}
