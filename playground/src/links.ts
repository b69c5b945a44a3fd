/** Links that carry a program in their fragment, which browsers send to no server.
 *
 * `#code=` holds the UTF-8 text as base64url, which any tool writes in a line; `#packed=` the same text
 * compressed (raw deflate); `#rule=GL201` names a rule whose example is shown.
 */

export type Linked = { kind: "code"; text: string } | { kind: "rule"; code: string } | null;

/** The fragment of a link to a program: the shorter of the two forms. */
export async function fragment(text: string): Promise<string> {
  const plain = new TextEncoder().encode(text);
  const packed = await piped(plain, new CompressionStream("deflate-raw"));
  return packed.length < plain.length ? `#packed=${encoded(packed)}` : `#code=${encoded(plain)}`;
}

/** What a fragment leads to; null where it is none of these forms.
 *
 * @throws Error - it is one, but damaged.
 */
export async function linked(hash: string): Promise<Linked> {
  const [, key, value] = /^#(code|packed|rule)=(.*)$/.exec(hash) ?? [];
  if (key === undefined || value === undefined) return null;
  if (key === "rule") return { kind: "rule", code: value.toUpperCase() };
  const bytes = decoded(value);
  const plain = key === "code" ? bytes : await piped(bytes, new DecompressionStream("deflate-raw"));
  return { kind: "code", text: new TextDecoder("utf-8", { fatal: true }).decode(plain) };
}

export async function piped(
  bytes: Uint8Array<ArrayBuffer>,
  through: CompressionStream | DecompressionStream,
): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(through)).arrayBuffer());
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index += 1) bytes[index] = binary.charCodeAt(index);
  return bytes;
}

function encoded(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function decoded(text: string): Uint8Array<ArrayBuffer> {
  return fromBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
}
