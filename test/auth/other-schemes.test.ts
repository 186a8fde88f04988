import { testService } from '../support/service.js';
import t from '../support/test.js';

t.test('a 401 says when the credential is one that the service does not accept', async (t) => {
  const sent: Readonly<Record<string, Record<string, string>>> = {
    'X-API-Key': { 'x-api-key': 'plinth_secret-of-the-caller' },
    'X-Signature': { 'x-signature': 'secret-of-the-caller', 'x-timestamp': '1' },
    'Authorization: Basic': { authorization: 'Basic c2VjcmV0LW9mLXRoZS1jYWxsZXI=' },
    'Authorization: Bearer': { authorization: 'Bearer secret-of-the-caller' },
    Authorization: { authorization: 'secret-of-the-caller' },
  };
  const SETTINGS: Readonly<Record<string, Record<string, string>>> = {
    basic: { INSECURE: 'basic' },
    signature: {
      SIGNING_SECRETS: JSON.stringify([{ id: 'a', secret: 'x'.repeat(32), subject: 'a', scopes: ['admin'] }]),
    },
  };
  const rows: [auth: string, accepted: string, own: readonly string[]][] = [
    ['api-key', 'X-API-Key', ['X-API-Key']],
    ['basic', 'Authorization: Basic', ['Authorization: Basic']],
    ['signature', 'X-Signature', ['X-Signature']],
  ];
  for (const [AUTH, accepted, own] of rows) {
    const { send } = await testService(t, { AUTH, ...SETTINGS[AUTH] });
    const message = async (headers: Record<string, string>): Promise<string> => {
      const { status, json } = await send('GET', '/items', { headers });
      t.equal(status, 401);
      return json.error.message;
    };
    t.equal(await message({}), 'The request needs a credential.', AUTH);
    for (const [place, headers] of Object.entries(sent)) {
      const text = await message(headers);
      if (own.includes(place)) t.notMatch(text, 'does not accept', `${AUTH}: ${place}`);
      else
        t.equal(
          text,
          `The request has a credential in ${place}, which this service does not accept. It accepts: ${accepted}.`,
        );
      t.notMatch(text, /secret|c2Vj/);
    }
  }
});
