// Asks a heptox peer by docs/protocol.md alone, with nothing of heptox:
//
//     node client.mjs < QUESTIONS
//
// A question is a line with a JSON object: {"arguments": [OPTION..., MULTIADDRESS], "query": "..."}. Prints for each one
// JSON object a line: who asks ({"asker", "query"}), then every message received, then {"complete", "reason"}.
// Exit codes: 0 all were asked, 2 wrong usage, 3 one could not be asked.
import './node20.mjs';
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { noise } from '@chainsafe/libp2p-noise';
import { yamux } from '@chainsafe/libp2p-yamux';
import { generateKeyPairFromSeed } from '@libp2p/crypto/keys';
import { tcp } from '@libp2p/tcp';
import { multiaddr } from '@multiformats/multiaddr';
import { decode, encode } from 'cborg';
import { createLibp2p } from 'libp2p';

const PROTOCOL = '/heptox/query/1';
const VERSION = 1;
const FRAME_LIMIT = 64 * 1024;
const MESSAGE_LIMIT = 4 * 1024 * 1024;
const UNREAD = '*';

const OPTIONS = {
  schema: { type: 'string', default: '' }, // the key of the peer's schema
  seed: { type: 'string' }, // the private key, 32 bytes in hex; random unless given
  name: { type: 'string', default: 'foreign' }, // what the asker is called
  called: { type: 'string', default: '' }, // what the peer is called
  hops: { type: 'string', default: '8' },
  seconds: { type: 'string', default: '30' },
  budget: { type: 'string', default: String(64 * 1024 * 1024) },
  explain: { type: 'boolean', default: false },
  'cancel-after': { type: 'string' }, // so many messages with answers; then a cancel is sent
  fields: { type: 'string', default: '{}' }, // JSON: put into the message of the query, in place of what is there
  bytes: { type: 'string' } // hex: sent in place of the query, as it is
}

/** The frames of a message. */
function * framesOf (message) {
  const data = encode(message);
  const whole = new Uint8Array(4 + data.length);
  new DataView(whole.buffer).setUint32(0, data.length);
  whole.set(data, 4);
  for (let start = 0; start < whole.length; start += FRAME_LIMIT - 4) {
    const payload = whole.subarray(start, start + FRAME_LIMIT - 4);
    const frame = new Uint8Array(4 + payload.length);
    new DataView(frame.buffer).setUint32(0, payload.length);
    frame.set(payload, 4);
    yield frame;
  }
}

/** Messages out of bytes that come in pieces of any size. */
class Decoder {
  #bytes = Buffer.alloc(0);
  #message = Buffer.alloc(0);
  #total = null;

  * feed (data) {
    this.#bytes = Buffer.concat([this.#bytes, data]);
    while (this.#bytes.length >= 4) {
      const length = this.#bytes.readUInt32BE(0);
      if (length < 1 || length > FRAME_LIMIT - 4) throw new Error(`a frame declares ${length} bytes`);
      if (this.#bytes.length < 4 + length) return;
      const message = this.#add(this.#bytes.subarray(4, 4 + length));
      this.#bytes = this.#bytes.subarray(4 + length);
      if (message !== null) yield message;
    }
  }

  #add (payload) {
    if (this.#total === null) {
      if (payload.length < 4) throw new Error('the first frame is too short to declare the message\'s length');
      this.#total = payload.readUInt32BE(0);
      if (this.#total > MESSAGE_LIMIT) throw new Error(`a message declares ${this.#total} bytes`);
      payload = payload.subarray(4);
    }
    this.#message = Buffer.concat([this.#message, payload]);
    if (this.#message.length < this.#total) return null;
    if (this.#message.length > this.#total) throw new Error('the frames hold more bytes than the message declares');
    const message = decode(this.#message, { allowIndefinite: false, rejectDuplicateMapKeys: true });
    this.#message = Buffer.alloc(0);
    this.#total = null;
    if (message.version !== VERSION) throw new Error(`message version ${message.version} is unknown`);
    return message;
  }
}

/** One query asked on one stream. */
class Asking {
  #stream;
  #query;
  #way;
  #cancelAfter;
  #counts = new Map(); // items that came, by the peers of their origin
  #batches = 0;
  #decoder = new Decoder();
  #said = null; // what the last message of the peer comes to
  #outcome = Promise.withResolvers();

  constructor (stream, { query, path }, cancelAfter) {
    this.#stream = stream;
    this.#query = query;
    this.#way = keyOf(path);
    this.#cancelAfter = cancelAfter;
  }

  /** Send the frames of the query, and take what comes until the last message; whether the answer is complete. */
  async run (frames) {
    this.#stream.addEventListener('message', event => this.#take(event.data.subarray()));
    this.#stream.addEventListener('remoteCloseWrite', () => this.#end('the stream was closed before the end'));
    this.#stream.addEventListener('close', event => this.#end(`the stream is lost: ${event.error?.message ?? 'closed'}`));
    this.#send(frames).catch(error => this.#end(`the stream is lost: ${error.message}`));
    return await this.#outcome.promise;
  }

  async #send (frames) {
    for (const frame of frames) {
      if (!this.#stream.send(frame)) await this.#stream.onDrain();
    }
  }

  #end (reason) {
    this.#outcome.resolve(this.#said ?? reason);
  }

  #take (data) {
    try {
      for (const message of this.#decoder.feed(data)) this.#received(message);
    } catch (error) {
      this.#end(`the peer broke the protocol: ${error.message}`);
      this.#stream.abort(error);
    }
  }

  #received (message) {
    if (message.query !== this.#query && !(message.kind === 'error' && message.query === UNREAD)) {
      throw new Error(`a message names the query ${message.query}`);
    }
    print(message);
    switch (message.kind) {
      case 'answers':
        this.#answers(message);
        break;
      case 'end':
        this.#finish(this.#check(message.receipt));
        break;
      case 'error':
        this.#finish(`${message.status}: ${message.reason}`);
        break;
      default:
        throw new Error(`a message of kind ${message.kind} is not expected`);
    }
  }

  #answers ({ origin, items }) {
    const key = keyOf(origin);
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + items.length);
    this.#batches += 1;
    if (this.#batches === this.#cancelAfter) {
      this.#send(framesOf(this.#say('cancel'))).catch(error => this.#end(`the stream is lost: ${error.message}`));
    }
  }

  /** Acknowledge the end: before that the peer does not close the stream. */
  async #finish (reason) {
    this.#said = reason;
    try {
      await this.#send(framesOf(this.#say('acknowledge')));
      await this.#stream.close();
    } catch { // the peer has left first; what it had to say has come
    }
    this.#end();
  }

  #say (kind) {
    return { version: VERSION, kind, query: this.#query };
  }

  /** Why an answer is not complete; empty when it is. What the receipt says is counted against what came. */
  #check (receipt) {
    const announced = new Map(receipt.map(line => [keyOf(line.path), line.items]));
    if (announced.size < receipt.length || !announced.has(this.#way)) return 'the receipt is not one line for each path';
    for (const [key, came] of this.#counts) {
      if (announced.get(key) !== came) return `${announced.get(key) ?? 'no'} items were announced, ${came} came`;
    }
    for (const { status, items, path, losses, reason } of receipt) {
      if (!['answered', 'nothing to say'].includes(status)) return `${path.at(-1).name}: ${status} (${reason})`;
      if (losses.length) return `${path.at(-1).name}: ${losses[0]}`;
      if (items > 0 && !this.#counts.has(keyOf(path))) return `${items} items were announced, none came`;
    }
    return '';
  }
}

const keyOf = path => path.map(hop => hop.peer).join(' ');

const print = value => console.log(JSON.stringify(value));

async function main () {
  for await (const line of createInterface({ input: process.stdin })) {
    const { arguments: args, query } = JSON.parse(line);
    await ask(args, query);
  }
}

async function ask (args, text) {
  const { values, positionals: [address] } = parseArgs({ args, options: OPTIONS, allowPositionals: true });
  if (address === undefined) throw new TypeError('give MULTIADDRESS');
  const peer = multiaddr(address);
  const seed = values.seed === undefined ? randomBytes(32) : Buffer.from(values.seed, 'hex');
  const node = await createLibp2p({
    privateKey: await generateKeyPairFromSeed('Ed25519', seed),
    transports: [tcp()],
    connectionEncrypters: [noise()],
    streamMuxers: [yamux()],
    connectionMonitor: { enabled: false } // a heptox peer speaks no protocol but its own
  });
  try {
    const asker = node.peerId.toString();
    const receiver = address.split('/p2p/')[1];
    const message = {
      version: VERSION,
      kind: 'query',
      query: randomBytes(16).toString('hex'),
      asker,
      body: text,
      path: [{ peer: asker, name: values.name }, { peer: receiver, name: values.called }],
      hops: Number(values.hops),
      milliseconds: Math.round(Number(values.seconds) * 1000),
      budget: Number(values.budget),
      explain: values.explain,
      schema: values.schema,
      ...JSON.parse(values.fields)
    };
    print({ asker, query: message.query });
    const stream = await node.dialProtocol(peer, PROTOCOL);
    const asking = new Asking(stream, message, Number(values['cancel-after'] ?? -1));
    const reason = await asking.run(values.bytes === undefined ? framesOf(message) : [Buffer.from(values.bytes, 'hex')]);
    print({ complete: reason === '', reason });
  } finally {
    await node.stop();
  }
}

try {
  await main();
} catch (error) {
  console.error(error.message);
  process.exitCode = error instanceof TypeError ? 2 : 3;
}
