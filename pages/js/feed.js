// Answers of a job on the server, as they come: see ui/feed.py.

const RETRY_MS = 1000;

/** Call `onAnswer` with every new answer until the job is done, the server has forgotten it, or `signal` aborts. */
export async function follow(url, signal, onAnswer) {
  for (let seen = 0; !signal.aborted;) {
    try {
      const response = await fetch(`${url}${url.includes('?') ? '&' : '?'}after=${seen}`, {signal});
      if (!response.ok) return;
      const {version, is_done, ...answer} = await response.json();
      if (version !== seen && !signal.aborted) onAnswer(answer);
      if (is_done) return;
      seen = version;
    } catch (error) {
      if (signal.aborted) return;
      await new Promise(wake => setTimeout(wake, RETRY_MS));   // the network is away
    }
  }
}
