// Answers of a job on the server, as they come: see ui/feed.py.

const RETRY_MS = 1000;
const REST = 4;   // times as long as the browser took to show an answer: it has other things to do

const wait = ms => new Promise(wake => setTimeout(wake, ms));

/** Call `onAnswer` with every new answer until the job is done, the server has forgotten it, or `signal` aborts; await it. */
export async function follow(url, signal, onAnswer) {
  for (let seen = 0; !signal.aborted;) {
    try {
      const response = await fetch(`${url}${url.includes('?') ? '&' : '?'}after=${seen}`, {signal});
      if (response.status !== 200) return;   // 204: forgotten
      const {version, is_done, ...answer} = await response.json();
      const began = performance.now();
      if (version !== seen && !signal.aborted) await onAnswer(answer);
      if (is_done) return;
      seen = version;
      await wait(REST * (performance.now() - began));
    } catch (error) {
      if (signal.aborted) return;
      await wait(RETRY_MS);   // the network is away
    }
  }
}
