/** Thrown to make the listener close the socket without a word. */
export class SocketClosed extends Error {
  override readonly name = "SocketClosed";
}
