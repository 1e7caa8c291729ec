/** UTF-8 to text, also where there is no TextDecoder (V8 inside a Python process). */

const SHORT = 24;
const native = typeof TextDecoder === "undefined" ? undefined : new TextDecoder("utf-8");

/** Bytes start … end-1 as text. Broken sequences become U+FFFD. Short texts are put together here: calling out costs more. */
export function decodeUtf8(bytes: Uint8Array, start: number, end: number): string {
  if (native && end - start > SHORT) return native.decode(bytes.subarray(start, end));
  let text = "";
  let i = start;
  while (i < end) {
    const lead = bytes[i++];
    if (lead < 0x80) {
      text += String.fromCharCode(lead);
      continue;
    }
    const more = lead >= 0xf0 && lead < 0xf5 ? 3 : lead >= 0xe0 && lead < 0xf0 ? 2 : lead >= 0xc2 && lead < 0xe0 ? 1 : 0;
    let code = more === 0 ? 0xfffd : lead & (0x3f >> more);
    for (let k = 0; k < more; k++) {
      if (i >= end || (bytes[i] & 0xc0) !== 0x80) {
        code = 0xfffd;
        break;
      }
      code = (code << 6) | (bytes[i++] & 0x3f);
    }
    text += String.fromCodePoint(code <= 0x10ffff ? code : 0xfffd);
  }
  return text;
}
