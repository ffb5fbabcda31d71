/** Server-sent events as text: the standard's line protocol, without a connection. */

export interface StreamEvent {
  /** Where to go on from; empty: the event has none. */
  id: string;
  event: string;
  data: string;
}

/** An event larger than this is not one of ours. */
const MOST_CHARACTERS = 4_000_000;

/** Takes pieces of text as they arrive and gives the events that are complete. */
export class StreamParser {
  private rest = '';

  /** @throws RangeError An event has no end. */
  push(piece: string): StreamEvent[] {
    this.rest += piece;
    const blocks = this.rest.split(/\r\n\r\n|\n\n|\r\r/);
    this.rest = blocks.pop() ?? '';
    if (this.rest.length > MOST_CHARACTERS) throw new RangeError('an event of the stream has no end');
    return blocks.map(eventOf).filter((event) => event !== null);
  }
}

function eventOf(block: string): StreamEvent | null {
  let id = '';
  let event = 'message';
  const data: string[] = [];
  for (const line of block.split(/\r\n|\n|\r/)) {
    const colon = line.indexOf(':');
    if (colon === 0) continue;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'id') id = value;
    else if (name === 'event') event = value;
    else if (name === 'data') data.push(value);
  }
  return data.length > 0 || id !== '' ? { id, event, data: data.join('\n') } : null;
}
