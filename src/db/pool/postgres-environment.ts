import postgres from 'postgres';

const VARIABLE = 'PGTARGETSESSIONATTRS';

/**
 * Creates an instance of the driver (postgres 3.4.9) that depends on its options alone. Of all variables that the driver
 * reads, no option can override this one, which it would demand of replicas as well; the configuration has read it.
 */
export function createDriver(options: object): postgres.Sql {
  const { [VARIABLE]: value } = process.env;
  if (value === undefined) return postgres(options);
  delete process.env[VARIABLE];
  try {
    return postgres(options);
  } finally {
    process.env[VARIABLE] = value;
  }
}
