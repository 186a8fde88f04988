import autocannon from 'autocannon';

/** The service, from the command line: `node bench/autocannon/<script>.js http://127.0.0.1:3000 [connections] [seconds]`. */
const [url = 'http://127.0.0.1:3000', connections = '64', seconds = '10'] = process.argv.slice(2);

export const JSON_BODY = { 'content-type': 'application/json' };

/** A word that no other run uses. */
export const tag = Date.now().toString(36);

/** Ids of up to a thousand users; some are created when there are none. */
export async function userIds() {
  const ids = await listIds();
  if (ids.length > 0) return ids;
  for (let n = 0; n < 1000; n++) {
    const body = JSON.stringify({ email: `${tag}-${n}@example.com`, name: `User ${n}`, age: n % 100 });
    const response = await fetch(`${url}/users`, { method: 'POST', headers: JSON_BODY, body });
    if (response.status !== 201) throw new Error(`POST /users responded with ${response.status}`);
    ids.push((await response.json()).id);
  }
  return ids;
}

async function listIds() {
  const ids = [];
  for (let page = 1; page <= 10; page++) {
    const response = await fetch(`${url}/users?page=${page}&limit=100`);
    if (!response.ok) throw new Error(`GET /users responded with ${response.status}`);
    const { data } = await response.json();
    ids.push(...data.map(({ id }) => id));
  }
  return ids;
}

/** An item of a list, chosen by chance. */
export const pick = (list) => list[Math.floor(Math.random() * list.length)];

/** Sends a request for as long as requested and prints what came of it; `setupRequest` changes each one. */
export async function run(request, setupRequest = (unchanged) => unchanged) {
  const result = await autocannon({
    url,
    connections: Number(connections),
    duration: Number(seconds),
    requests: [{ ...request, setupRequest }],
  });
  process.stdout.write(autocannon.printResult(result));
  const statuses = Object.entries(result.statusCodeStats).map(([status, { count }]) => `${status}: ${count}`);
  console.log(`statuses ${statuses.join(', ')}`);
}
