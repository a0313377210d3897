/** Text in base64, as secrets hold it. */

/** Undefined for bytes that are no text. */
export function decoded(base64: string): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(binary(base64));
    return /[\u0000-\u0008\u000e-\u001f]/.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

export const encoded = (text: string): string =>
  btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(''));

export const bytesOf = (base64: string): number => Math.floor((base64.replace(/=+$/, '').length * 3) / 4);

const binary = (base64: string): Uint8Array => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
