const MAX_CHARACTERS = 2048;

/** The path of a request target for logs and traces, without query and authority, which may contain secrets. */
export function pathOf(target = ''): string {
  const end = target.search(/[?#]/);
  const path = end < 0 ? target : target.slice(0, end);
  const rest = path.startsWith('/') ? path : path.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, '');
  return rest.slice(0, MAX_CHARACTERS);
}
