import type { Ajv2020 } from 'ajv/dist/2020.js';

const FULL_DATE = /^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)$/;
const FULL_TIME =
  /^(?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)(?:\.(?<fraction>\d+))?(?:[Zz]|(?<sign>[+-])(?<zoneHour>\d\d):(?<zoneMinute>\d\d))$/;
const LOCAL_TIME =
  /^(?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)(?:\.(?<fraction>\d+))?(?:[Zz]|(?<sign>[+-])(?<zoneHour>\d\d):(?<zoneMinute>\d\d))?$/;
const DATE_TIME =
  /^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)[Tt ](?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)(?:\.(?<fraction>\d+))?(?:[Zz]|(?<sign>[+-])(?<zoneHour>\d\d):(?<zoneMinute>\d\d))$/;
const LOCAL_DATE_TIME =
  /^(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)[Tt ](?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)(?:\.(?<fraction>\d+))?(?:[Zz]|(?<sign>[+-])(?<zoneHour>\d\d):(?<zoneMinute>\d\d))?$/;
const DURATION = /^P(?!$)(?:(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?|\d+W)$/;

const MINUTES_OF_DAY = 1440;

/** The named parts of a text; undefined: the text has another form. */
type Parts = Readonly<Record<string, string | undefined>>;

/** The start of a day in UTC, in milliseconds; undefined: the calendar has no such day. */
function dayOf({ year, month, day }: Parts): number | undefined {
  const date = new Date(0);
  const [y, m, d] = [Number(year), Number(month) - 1, Number(day)];
  date.setUTCFullYear(y, m, d);
  return date.getUTCFullYear() === y && date.getUTCMonth() === m && date.getUTCDate() === d
    ? date.getTime()
    : undefined;
}

/**
 * The milliseconds of a time since the start of its day in UTC, negative for the day before; undefined: no clock shows the
 * time. A leap second is the second after it, as in PostgreSQL.
 */
function timeOf(parts: Parts): number | undefined {
  const number = (name: string) => Number(parts[name] ?? 0);
  const [hour, minute, second] = [number('hour'), number('minute'), number('second')];
  const [zoneHour, zoneMinute] = [number('zoneHour'), number('zoneMinute')];
  if (hour > 23 || minute > 59 || second > 60 || zoneHour > 23 || zoneMinute > 59) return undefined;
  const offset = (zoneHour * 60 + zoneMinute) * (parts.sign === '-' ? -1 : 1);
  const minutes = hour * 60 + minute - offset;
  const ofDay = (minutes + MINUTES_OF_DAY) % MINUTES_OF_DAY;
  // A leap second is inserted at the end of a day in UTC.
  if (second === 60 && ofDay !== MINUTES_OF_DAY - 1) return undefined;
  return (minutes * 60 + second) * 1000 + Number((parts.fraction ?? '').slice(0, 3).padEnd(3, '0'));
}

/** A point in time, in milliseconds since 1970. */
function momentOf(parts: Parts): number | undefined {
  const [day, time] = [dayOf(parts), timeOf(parts)];
  return day === undefined || time === undefined ? undefined : day + time;
}

const START = Date.parse('0000-01-01T00:00:00.000Z');
const END = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * The point in time of an RFC 3339 text in UTC with milliseconds, so that texts compare as times; undefined: the text is not
 * one. A year before 0 or after 9999 in UTC would compare wrongly.
 */
export function instantOf(text: string): string | undefined {
  const parts = DATE_TIME.exec(text)?.groups;
  const moment = parts && momentOf(parts);
  return moment === undefined || moment < START || moment > END ? undefined : new Date(moment).toISOString();
}

/** Whether a time is between two milliseconds. */
export const isFinerThanMilliseconds = (text: string): boolean => /\.\d{3}\d*[1-9]/.test(text);

const matches = (pattern: RegExp, read: (parts: Parts) => number | undefined) => (text: string) => {
  const parts = pattern.exec(text)?.groups;
  return parts !== undefined && read(parts) !== undefined;
};

/** The formats of dates, times and durations, as RFC 3339 and its appendix A have them. */
export const TIME_FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  'date-time': (text) => instantOf(text) !== undefined,
  date: matches(FULL_DATE, dayOf),
  time: matches(FULL_TIME, timeOf),
  duration: (text) => DURATION.test(text),
  // The formats of ISO 8601, in which the zone is optional.
  'iso-date-time': matches(LOCAL_DATE_TIME, momentOf),
  'iso-time': matches(LOCAL_TIME, timeOf),
};

/** Adds the formats to a validator. */
export function addTimeFormats(ajv: Ajv2020): void {
  for (const [name, validate] of Object.entries(TIME_FORMATS)) ajv.addFormat(name, validate);
}

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
