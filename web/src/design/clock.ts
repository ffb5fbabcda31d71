/** Times and durations as people read them; nothing here reads a clock. */

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86_400;

/** How long, short and stable in width: `12 s`, `6 m 12 s`, `2 h 05 m`, `3 d 4 h`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < MINUTE) return `${whole} s`;
  if (whole < HOUR) return `${Math.floor(whole / MINUTE)} m ${pad(whole % MINUTE)} s`;
  if (whole < DAY) return `${Math.floor(whole / HOUR)} h ${pad(Math.floor((whole % HOUR) / MINUTE))} m`;
  return `${Math.floor(whole / DAY)} d ${Math.floor((whole % DAY) / HOUR)} h`;
}

/** How long ago or from now, roughly: `now`, `12 s ago`, `in 3 min`, `2 h ago`, `5 d ago`. */
export function relative(at: number, now: number): string {
  const seconds = Math.round((now - at) / 1000);
  const far = Math.abs(seconds);
  if (far < 2) return 'now';
  const amount = far < MINUTE ? `${far} s` : far < HOUR ? `${Math.round(far / MINUTE)} min` : rough(far);
  return seconds > 0 ? `${amount} ago` : `in ${amount}`;
}

/** The same at a glance, for columns: `14:02`, `yesterday`, `12 Mar`, `2024-03-12`. */
export function calendar(at: number, now: number): string {
  const then = new Date(at);
  const today = new Date(now);
  const days = Math.round((startOfDay(today) - startOfDay(then)) / (DAY * 1000));
  if (days === 0) return `${pad(then.getHours())}:${pad(then.getMinutes())}`;
  if (days === 1) return 'yesterday';
  if (then.getFullYear() === today.getFullYear()) {
    return then.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });
  }
  return exact(at).slice(0, 10);
}

/** To the second, with the zone: `2026-03-12 14:02:09 UTC+01:00`. */
export function exact(at: number): string {
  const then = new Date(at);
  const date = [then.getFullYear(), pad(then.getMonth() + 1), pad(then.getDate())].join('-');
  const time = [then.getHours(), then.getMinutes(), then.getSeconds()].map(pad).join(':');
  const offset = -then.getTimezoneOffset();
  const zone = `${offset < 0 ? '-' : '+'}${pad(Math.floor(Math.abs(offset) / 60))}:${pad(Math.abs(offset) % 60)}`;
  return `${date} ${time} UTC${offset === 0 ? '' : zone}`;
}

/** Milliseconds of a time as the server writes it; none: it says none, or nothing readable. */
export function parsed(text: string | null | undefined): number | null {
  if (!text) return null;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : at;
}

function rough(seconds: number): string {
  return seconds < DAY ? `${Math.round(seconds / HOUR)} h` : `${Math.round(seconds / DAY)} d`;
}

function pad(number: number): string {
  return String(number).padStart(2, '0');
}

function startOfDay(date: Date): number {
  return new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
}
