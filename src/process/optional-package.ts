import { StartError } from './listen.js';

/** Awaits the import of code that needs an optional package. Throws StartError with its name if it is not installed. */
export async function withPackage<T>(loading: Promise<T>, setting: string, name: string): Promise<T> {
  try {
    return await loading;
  } catch (error) {
    const { code } = error as { code?: string };
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error;
    throw new StartError(`${setting} needs the package ${name}: npm install ${name}`);
  }
}
