const LOCAL_PART = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+$/i;
const LABEL = /^[a-z0-9-]+$/i;
/** RFC 5321 section 4.5.3.1: 64 octets before the @ and 255 behind it. */
const MAX_LENGTH = 320;

/**
 * Whether a text is an e-mail address: a dot-atom (RFC 5322 section 3.2.3), an @, and a domain name of two labels or
 * more (RFC 1035 section 2.3.1). Takes linear time.
 */
export function isEmail(text: string): boolean {
  if (text.length > MAX_LENGTH) return false;
  const [local = '', domain = '', ...rest] = text.split('@');
  const labels = domain.split('.');
  return (
    rest.length === 0 &&
    local.split('.').every((atom) => LOCAL_PART.test(atom)) &&
    labels.length > 1 &&
    labels.every(isLabel)
  );
}

function isLabel(text: string): boolean {
  return LABEL.test(text) && !text.startsWith('-') && !text.endsWith('-');
}
