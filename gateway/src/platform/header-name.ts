/** Whether a header's name, which is asked for in small letters, stands there, however it is spelled; without a copy of it. */
export function isSpelledAt(text: string, start: number, name: string): boolean {
  for (let at = 0; at < name.length; at++) {
    // This makes a letter's two cases alike, and no other two characters of the names that anybody asks for.
    if ((text.charCodeAt(start + at) | 0x20) !== (name.charCodeAt(at) | 0x20)) return false;
  }
  return true;
}
