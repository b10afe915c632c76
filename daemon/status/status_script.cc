#include "daemon/status/status_assets.h"

namespace pex::daemon {

/// Fetches the page again every few seconds and shows its main part in place of the old one. What
/// is focused or unfolded is found again by its id, and nobody's selection is taken away. An
/// exporter of another version may have another style, so then all is loaded anew.
const std::string_view kStatusScript = R"js(
"use strict";
(() => {
  const period = 5000;
  const note = document.getElementById("reach");
  let reached = new Date();

  const isRead = () => document.hidden || getSelection().type === "Range";

  const show = (fresh) => {
    const old = document.querySelector("main");
    if (fresh.dataset.version !== old.dataset.version) return location.reload();
    const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
    for (const details of old.querySelectorAll("details[open][id]")) {
      const same = fresh.querySelector("#" + details.id);
      if (same) same.open = true;
    }
    const { scrollX, scrollY } = window;
    old.replaceWith(document.adoptNode(fresh));
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    window.scrollTo(scrollX, scrollY);
  };

  const refresh = async () => {
    try {
      const answer = await fetch(location.href, {
        cache: "no-store", signal: AbortSignal.timeout(period) });
      if (!answer.ok) throw new Error(answer.status);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      show(page.querySelector("main"));
      reached = new Date();
      note.textContent = "";
    } catch {
      if (!note.textContent) note.textContent = "Not reached since " + reached.toLocaleTimeString();
    }
  };

  document.addEventListener("visibilitychange", () => { if (!isRead()) refresh(); });
  const run = async () => {
    if (!isRead()) await refresh();
    setTimeout(run, period);
  };
  setTimeout(run, period);
  document.documentElement.classList.add("refreshes");
})();
)js";

}  // namespace pex::daemon
