const SCHEME = /^(?:https?|ftp):\/\//i;
const LABEL = /^[a-z0-9\u{a1}-\u{ffff}]+(?:-[a-z0-9\u{a1}-\u{ffff}]+)*$/iu;
const TOP_LEVEL = /^[a-z\u{a1}-\u{ffff}]{2,}$/iu;
const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;
const PRIVATE = /^(?:10|127|169\.254|192\.168|172\.(?:1[6-9]|2\d|3[01]))\./;
const PORT = /:\d{2,5}$/;

/** Whether a text is the URL of a public host, as the format `url` of ajv-formats has it. Takes linear time. */
export function isUrl(text: string): boolean {
  const scheme = SCHEME.exec(text)?.[0];
  if (scheme === undefined || /\s/.test(text)) return false;
  const rest = text.slice(scheme.length);
  const slash = rest.indexOf('/');
  const authority = slash < 0 ? rest : rest.slice(0, slash);
  const at = authority.lastIndexOf('@');
  if (at === 0) return false;
  return isPublicHost(authority.slice(at + 1).replace(PORT, ''));
}

function isPublicHost(host: string): boolean {
  if (IPV4.test(host)) return isPublicAddress(host);
  const labels = host.split('.');
  return labels.length > 1 && labels.every((label) => LABEL.test(label)) && TOP_LEVEL.test(labels.at(-1)!);
}

function isPublicAddress(address: string): boolean {
  const numbers = address.split('.').map(Number);
  const [first, , , last] = numbers as [number, number, number, number];
  const isValid =
    numbers.every((number) => number <= 255) && first >= 1 && first <= 223 && last >= 1 && last <= 254;
  return isValid && !PRIVATE.test(address);
}
