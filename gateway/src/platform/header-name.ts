/** Whether a header's name, which is asked for in small letters, stands there, however it is spelled; without a copy of it. */
export function isSpelledAt(text: string, start: number, name: string): boolean {
  for (let at = 0; at < name.length; at++) {
    // Of the characters in the names that anybody asks for, this makes no two alike but a letter's two cases.
    if ((text.charCodeAt(start + at) | 0x20) !== (name.charCodeAt(at) | 0x20)) return false;
  }
  return true;
}
