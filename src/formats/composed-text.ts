/** A run of more combining characters than the Stream-Safe Text Format permits (UAX #15 section 13). */
const LONG_RUN = /(?<!\p{M})\p{M}{31}/u;

/** Whether a text has a run of more than 30 combining characters, of which NFC takes quadratic time to sort. */
export const hasLongRun = (text: string): boolean => LONG_RUN.test(text);

/** The text in NFC, in linear time; a text with a long run of combining characters is returned as it is. */
export const composed = (text: string): string => (hasLongRun(text) ? text : text.normalize('NFC'));
