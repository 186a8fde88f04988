/** How to use each command. */
export const USAGE = {
  start: `usage: plinth [start]

Runs the service. Its settings are environment variables, also from a file .env in the current folder:

  PORT=3000 AUTH=bearer plinth start
`,
  import: `usage: plinth import [COLLECTION] FILE [--infer] [--rename FROM=TO]... [--strict] [--resume]

FILE is .ndjson, .csv or .json, or - for the standard input. Without COLLECTION it is JSON, {"collection": [records], ...}.
Ids are new; references between the records of FILE are preserved.
  --infer           declare the collections of FILE in COLLECTIONS (./collections), and create their tables
  --rename FROM=TO  renames a top-level field of every record; may be repeated
  --strict          stop at the first record that is refused; the records before it stay
  --resume          continue an import of FILE that was interrupted: each record is stored once
  --as COLLECTION   the same as COLLECTION

A user's password may be given as its hash: "password_hash", scrypt$N$r$p$salt$key or bcrypt's $2b$cost$...
`,
  export: `usage: plinth export [COLLECTION] [--format ndjson|csv|json] [-o FILE]

Writes the records of one moment, also while a service runs. Without COLLECTION: all, as {"collection": [records], ...}.
Without --format: by the name of FILE, or else NDJSON. Passwords and other write-only fields are not exported.
`,
  collections: `usage: plinth collections check
       plinth collections new NAME [--fields FIELD:TYPE[,FIELD:TYPE]...]

  check  checks the declarations in COLLECTIONS (./collections), and prints every fault
  new    writes ./collections/NAME.json. Without --fields it asks for the fields.
         TYPE is string, text, number, integer, boolean, date, date-time, strings or object, or the name of a
         collection to refer to; a ! after it means required
`,
  migrate: `usage: plinth migrate [--plan] [--allow-drop] [--allow-violations]

Brings the tables in line with the declarations in COLLECTIONS. Clients are served meanwhile.
  --plan              print the SQL of each step, what it locks and what it loses, and change nothing
  --allow-drop        also remove collections that are no longer declared, with their records
  --allow-violations  let stored records stay that violate a new rule
`,
  keys: `usage: plinth keys create --label LABEL --subject SUBJECT --scopes SCOPE[,SCOPE]...
                          [--expires 90d|2030-01-01T00:00:00Z] [--certificate FILE]
       plinth keys list
       plinth keys revoke ID

Manages API keys and client certificates in DATABASE_URL, or else in the database of DATA_DIR, also while a service
runs on it. A new key is printed once; only its SHA-256 is stored.
`,
  clients: `usage: plinth clients create --name NAME [--redirect URI]... [--grant TYPE]... [--scopes SCOPE[,SCOPE]...]
                             [--confidential] [--opaque]
       plinth clients list
       plinth clients delete ID

Manages clients of the embedded authorization server (AUTH_SERVER=on).
  --redirect URI  where users return to; http://127.0.0.1/callback permits any port
  --grant TYPE    authorization_code and refresh_token with --redirect, else client_credentials; or device_code
  --scopes SCOPE  what the client may request (openid,self)
  --confidential  the client has a secret, which is printed once
  --opaque        access tokens are not JWTs
`,
  issuer: `usage: plinth issuer rotate-keys [--delay SECONDS]

Adds a signing key to the embedded authorization server. It is published at once, and signs after the delay (60), when
all processes and clients know it. Tokens of the former key stay valid.
`,
  users: `usage: plinth users create EMAIL --name NAME [--scopes SCOPE[,SCOPE]...]
       plinth users set-password EMAIL
       plinth users set-scopes EMAIL --scopes SCOPE[,SCOPE]...

Reads the password from the terminal, or the first line of the standard input. A user may always read and change its own
records; --scopes permits more.
`,
  login: `usage: plinth login --client ID [--device] [--scope SCOPE] [--service URL]

Signs a user in, in the browser (authorization code with PKCE) or with a code for another device, and prints an access
token.
  --scope SCOPE   scopes, separated by spaces (openid self)
  --service URL   the service (http://127.0.0.1:3000, or PORT)
`,
  token: `usage: plinth token --client ID [--secret-file FILE] [--scope SCOPE] [--service URL]

Prints an access token for a confidential client (client credentials). Its secret is in CLIENT_SECRET or the file.
`,
  webhooks: `usage: plinth webhooks listen [--port PORT] [--service URL] [--types TYPE[,TYPE]...] [--key-file FILE]

Receives webhooks on this machine, verifies them, and prints them. It subscribes to the service and unsubscribes at the
end; with WEBHOOK_SECRET it only listens. The service needs WEBHOOK_INSECURE=on and WEBHOOK_ALLOW=127.0.0.1.
  --port PORT      the port to listen on (4000)
  --service URL    the service (http://127.0.0.1:3000, or PORT)
  --types TYPE     the events, as users.created or items.* (all)
  --key-file FILE  a file with an API key with the scope admin
`,
  'verify-webhook': `usage: plinth verify-webhook (--header 'NAME: VALUE'... | --headers FILE)
                             [--secret-file FILE] [--tolerance SECONDS]
                             [--scheme standard-webhooks|x-signature] [--path PATH]

Says whether the body on the standard input is signed with a secret in WEBHOOK_SECRET or the file.
`,
} as const;

export type CommandName = keyof typeof USAGE;

/** How to use all of them. */
export const ALL_USAGE = `usage: plinth [start]
       plinth import [COLLECTION] FILE [--infer] [--rename FROM=TO]... [--strict] [--resume]
       plinth export [COLLECTION] [--format ndjson|csv|json] [-o FILE]
       plinth collections check | new NAME
       plinth migrate [--plan] [--allow-drop] [--allow-violations]
       plinth keys create | list | revoke ID
       plinth users create | set-password | set-scopes EMAIL
       plinth clients create | list | delete ID
       plinth issuer rotate-keys
       plinth login --client ID [--device]
       plinth token --client ID
       plinth webhooks listen
       plinth verify-webhook (--header 'NAME: VALUE'... | --headers FILE)
       plinth --version

  start           runs the service; its settings are environment variables (docs/configuration.md)
  import          loads records
  export          writes records
  collections     checks declarations of collections, or writes a new one
  migrate         brings the tables in line with the declarations
  keys            manages API keys and client certificates
  users           creates users, and sets passwords and scopes
  clients         manages clients of the embedded authorization server
  issuer          rotates its keys
  login, token    print an access token of a user, or of a client
  webhooks        receives webhooks on a developer's machine
  verify-webhook  verifies a webhook on the standard input

plinth COMMAND --help describes a command.
`;
